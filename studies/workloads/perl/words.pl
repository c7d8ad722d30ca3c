# Word statistics: hashes of scalars, arrays of records, regular expressions. Prints the same every time.
use strict;
use warnings;

my (%count, %pair, %month, @records);
open(my $in, '<', $ARGV[0]) or die "$ARGV[0]: $!\n";
while (my $line = <$in>) {
    next unless $line =~ /^(\d+) (\d+)-(\d+)-(\d+) (.*)\.$/;
    my ($id, $year, $mon, $day, $text) = ($1, $2, $3, $4, $5);
    my @words = map { lc } split / /, $text;
    $count{$_}++ for @words;
    $pair{"$words[$_] $words[$_ + 1]"}++ for 0 .. $#words - 1;
    push @{ $month{"$year-$mon"} }, $id;
    (my $squeezed = $text) =~ s/([aeiou])\w*?(\d+)/$1-$2/g;
    push @records, { id => $id, day => $day, longest => (sort { length $b <=> length $a || $a cmp $b } @words)[0],
                     squeezed => $squeezed };
}
close $in;

printf "%d lines, %d words, %d pairs\n", scalar @records, scalar keys %count, scalar keys %pair;
for my $table (\%count, \%pair) {
    my @first = (sort { $table->{$b} <=> $table->{$a} || $a cmp $b } keys %$table)[0 .. 9];
    print "$_\t$table->{$_}\n" for @first;
}
print "$_\t", scalar @{ $month{$_} }, "\n" for sort keys %month;
my $sum = 0;
$sum += length($_->{squeezed}) + length($_->{longest}) for @records;
print "$sum\n";
