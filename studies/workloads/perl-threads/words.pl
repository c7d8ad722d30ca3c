# Word statistics on all cores: each of N threads goes through every Nth line of the text, with hashes, lists and
# regular expressions of its own; what they found is put together. Prints the same for any N.
use strict;
use warnings;
use threads;

my ($file, $number) = @ARGV;
$number ||= int `nproc`;

sub part {
    my ($own) = @_;
    my (%count, %pair, @squeezed);
    open(my $in, '<', $file) or die "$file: $!\n";
    while (my $line = <$in>) {
        next if $. % $number != $own || $line !~ /^\d+ \S+ (.*)\.$/;
        my @words = map { lc } split / /, $1;
        $count{$_}++ for @words;
        $pair{"$words[$_] $words[$_ + 1]"}++ for 0 .. $#words - 1;
        (my $text = $1) =~ s/([aeiou])\w*?(\d+)/$1-$2/g;
        push @squeezed, { text => $text, words => [sort @words] };
    }
    my $length = 0;
    $length += length($_->{text}) + length(join ' ', @{ $_->{words} }) for @squeezed;
    return join "\n", scalar @squeezed, $length, (map { "$_\t$count{$_}" } keys %count), '', (map { "$_\t$pair{$_}" } keys %pair);
}

my ($lines, $length, %count, %pair) = (0, 0);
for my $said (map { $_->join } map { my $own = $_; threads->create(\&part, $own) } 0 .. $number - 1) {
    my ($own, $letters, @tables) = split /\n/, $said;
    $lines += $own;
    $length += $letters;
    my $into = \%count;
    for (@tables) {
        if ($_ eq '') { $into = \%pair; next }
        my ($key, $times) = split /\t/;
        $into->{$key} += $times;
    }
}
printf "%d lines, %d words, %d pairs, %d letters\n", $lines, scalar keys %count, scalar keys %pair, $length;
for my $table (\%count, \%pair) {
    my @first = (sort { $table->{$b} <=> $table->{$a} || $a cmp $b } keys %$table)[0 .. 9];
    print "$_\t$table->{$_}\n" for @first;
}
