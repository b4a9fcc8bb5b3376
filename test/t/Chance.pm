# What random tests draw with.  A test seeds perl's generator with seed() or with what it makes of it,
# and so repeats its statements from run to run; the environment's SEED takes another seed, SEED=random
# a new one (make hunt).
package Chance;

use strict;
use warnings;
use Exporter 'import';
use Test::More;
our @EXPORT = qw(seed pick chance some shuffled);

# Printed, so that a run with a new one can be repeated.
sub seed
{
	my $seed = $ENV{SEED} // 1;

	$seed = (time ^ $$) % 1_000_000 if $seed eq 'random';
	diag "SEED=$seed";
	return $seed;
}

sub pick { return $_[ rand @_ ] }
sub chance { return rand() < $_[0] }
sub some { my ($least, $most) = @_; return $least + int rand($most - $least + 1) }
sub shuffled { my @left = @_; return map { splice @left, rand @left, 1 } 1 .. @left }

1;
