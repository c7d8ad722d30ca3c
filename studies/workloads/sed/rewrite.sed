# Dates, addresses, names, tables: back-references, alternatives, loops, and the hold space.
s/([0-9]{4})-([0-9]{2})-([0-9]{2})/\3.\2.\1/g
s/([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)/[\4 \3 \2 \1]/
s/([a-z]+)@example\.(org|net)/<\1 at \2>/g
s/\?id=([0-9]*)([0-9]{3})/?id=\1'\2/
s/"([^"]*), ([^"]*)"/"\2 \1"/
s/\b(disk|net|cpu|fan|psu|mem)\b/{\1}/g
s/ticket #0*([1-9][0-9]*)/#\1/
:spaces
s/([^ ])  +([^ ])/\1 \2/
t spaces
s/(alice|bob|carol)([^a-z].*)(dave|erin|frank|grace|heidi)/\3\2\1/
s/([aeiou])([bcdfghjklmnpqrstvwxyz]+)([aeiou])/\1\U\2\E\3/g
y/{}/()/
/Subject/ {
    H
    x
    s/^(.{200}).*/\1/
    x
}
s/[[:space:]]+$//
s/(.)(.)(.)$/\3\2\1/
