"""Section 7.5 of OOPSLA 2002: reaps as the pools of Apache httpd."""
