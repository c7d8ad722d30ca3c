// The compiler, which is written in mudlle, is compiled to byte code file by file, in as many rounds as the global
// variable says; at last the one that these rounds made compiles a file to machine code, which is counted.
silent = true;
files = '["dihash.mud" "compiler.mud" "link.mud" "misc.mud" "sequences.mud" "dlist.mud" "graph.mud" "ax64.mud"
  "vars.mud" "flow.mud" "optimise.mud" "ins3.mud" "mx64.mud" "phase1.mud" "phase2.mud" "phase3.mud" "phase4.mud"
  "genx64.mud" "x64.mud" "compile.mud" "noinf.mud" "inference.mud" "interface.mud"];
load("lib.mud") && load("noinf.mud") && load("x64.mud") && load("compile.mud") && load("interface.mud") || quit(1);
for (|i| i = 0; i < rounds; ++i) vforeach(load, files);
mc:verbose = 0;
ftest("dlist.mud");
dformat("%s rounds, %s instructions, %s bytes%n", rounds, mc:nins, mc:nbytes);
quit(0); // what comes after in the script is reached by an error alone
