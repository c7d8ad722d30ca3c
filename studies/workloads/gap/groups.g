# groups.g: `scale' times a random subgroup, words of permutations, and a polynomial over a finite field to factor.
Reset(GlobalMersenneTwister, 7);
Reset(GlobalRandomSource, 7);
total := 0;
x := Indeterminate(GF(7), "x");
s := SymmetricGroup(12);
for i in [1..scale] do
    g := Group(Random(s), Random(s));
    total := (total * 31 + Size(g) + NrMovedPoints(g)) mod 1000000007;
    words := List([1..200], k -> Random(s)^Random(s));
    total := (total + Length(Set(words))) mod 1000000007;
    f := Sum([0..12], k -> x^k * Random(GF(7))) + x^13;
    total := (total * 7 + Length(Factors(f))) mod 1000000007;
od;
Print(scale, " rounds: ", total, "\n");
QUIT;
