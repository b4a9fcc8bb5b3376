# What random tests draw with; srand() of the test makes it repeatable.
package Chance;

use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(pick chance some shuffled);

sub pick { return $_[ rand @_ ] }
sub chance { return rand() < $_[0] }
sub some { my ($least, $most) = @_; return $least + int rand($most - $least + 1) }
sub shuffled { my @left = @_; return map { splice @left, rand @left, 1 } 1 .. @left }

1;
