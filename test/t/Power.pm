# Power cuts: what the disk has of pg_tsurugi and pg_wal when all processes of a server have been
# killed, if it lost whatever was not synced (test/power/power.c has the syncs).  And calls on files
# that fail.
package Power;

use strict;
use warnings;
use Chance;
use PostgreSQL::Test::Utils;

use constant PAGE => 4096;
use constant CONTROL_BYTES => 84;
my %kinds = (open => 1, write => 2, sync => 3, rename => 4, remove => 5, cut => 6, sync_directory => 7);

# Of a server that is stopped.  Its files are durable as they are.
sub new
{
	my ($class, $node) = @_;
	my $library = "$ENV{TESTDIR}/power.so";
	my $self = bless { node => $node, library => $library, keep => $node->basedir . '/power' }, $class;

	system("gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -fPIC -shared -o '$library.$$' test/power/power.c && mv '$library.$$' '$library'") == 0
		or die 'the library cannot be built';
	mkdir "$self->{keep}$_" for '', '/kept', '/names';
	open($self->{control}, '+>', "$self->{keep}/control") or die;
	syswrite $self->{control}, "\0" x CONTROL_BYTES;
	$node->append_conf('postgresql.conf', "fsync = on");
	$self->keep_all;
	return $self;
}

# Starts the server, with the library, and what else Cluster's start takes.
sub start
{
	my ($self, @how) = @_;

	local %ENV = (%ENV, %{ $self->environment });
	return $self->{node}->start(@how);
}

sub environment
{
	my ($self) = @_;

	return { LD_PRELOAD => $self->{library}, POWER_DATA => $self->{node}->data_dir, POWER_KEEP => $self->{keep} };
}

# From now on, the call of a kind on a file of pg_tsurugi, pg_wal, base/pgsql_tmp or a directory
# "exported" whose path has the text, after so many of them, fails with an errno; also further ones if
# it stays.  A sync without an error is none.  The text of a file of pg_wal begins with that.
sub fail
{
	my ($self, $kind, $text, $number, $error, $stays) = @_;

	sysseek $self->{control}, 0, 0;
	syswrite $self->{control}, pack('l5 a64', $kinds{$kind}, $number, $error, $stays // 0, 0, $text);
}

sub fail_nothing
{
	my ($self) = @_;

	sysseek $self->{control}, 0, 0;
	syswrite $self->{control}, pack('l', 0);
}

# How many calls have failed since.
sub failures
{
	my ($self) = @_;
	my $control;

	sysseek $self->{control}, 0, 0;
	sysread $self->{control}, $control, CONTROL_BYTES;
	return (unpack('l5', $control))[4];
}

# --- what is durable ------------------------------------------------------------------------------

sub directories
{
	my ($self) = @_;
	my $data = $self->{node}->data_dir;

	return grep { -d "$data/$_" } qw(pg_tsurugi pg_tsurugi/journal pg_tsurugi/base pg_wal pg_wal/archive_status);
}

# The files of a directory: name to the key by which power.c keeps them.
sub names_now
{
	my ($self, $directory) = @_;
	my @paths = grep { -f $_ } glob $self->{node}->data_dir . "/$directory/*";

	return {} unless @paths;
	open(my $stat, '-|', 'stat', '-c', '%i.%.9W %n', @paths) or die;
	return { map { m{^(\S+) .*/(.*)} ? ($2 => $1) : () } <$stat> };
}

sub names_kept
{
	my ($self, $directory) = @_;
	my $file = "$self->{keep}/names/" . $directory =~ s{/}{+}gr;

	return { map { reverse split ' ' } split /\n/, slurp_file($file) };
}

sub keep_all
{
	my ($self) = @_;
	my $data = $self->{node}->data_dir;

	unlink glob "$self->{keep}/kept/*";
	for my $directory ($self->directories)
	{
		my $names = $self->names_now($directory);

		write_file("$self->{keep}/names/" . $directory =~ s{/}{+}gr, join '', map { "$names->{$_} $_\n" } sort keys %$names);
		write_file("$self->{keep}/kept/$names->{$_}", read_file("$data/$directory/$_")) for keys %$names;
	}
}

sub read_file
{
	open(my $file, '<:raw', $_[0]) or die "$_[0]: $!";
	local $/;
	return scalar(<$file>) // '';
}

sub write_file
{
	open(my $file, '>:raw', $_[0]) or die "$_[0]: $!";
	print $file $_[1];
	close $file or die;
}

# --- a cut ------------------------------------------------------------------------------------------

# The names that a directory has: as they were synced last, as they are, or some of each.  A file
# that was renamed has one of its names.
sub cut_names
{
	my ($was, $is) = @_;
	my $way = some(1, 3);
	my %is_there = map { $_ => 1 } values %$is;
	my %was_there = map { $_ => 1 } values %$was;
	my $renamed = chance(0.5);
	my %names;

	return $way == 1 ? %$was : %$is if $way < 3;
	for my $name (keys %{ { %$was, %$is } })
	{
		my ($old, $new) = ($was->{$name}, $is->{$name});
		my $key = ($old // '') eq ($new // '') ? $old
			: (defined $old && $is_there{$old}) || (defined $new && $was_there{$new}) ? ($renamed ? $new : $old)
			:                                                                           pick($old, $new);

		$names{$name} = $key if defined $key;
	}
	return %names;
}

# A page of a file; what lies behind its end is zero.
sub page
{
	my ($contents, $at) = @_;

	return substr(($at < length $$contents ? substr($$contents, $at, PAGE) : '') . "\0" x PAGE, 0, PAGE);
}

# Some pages of what is there now are on the disk.
sub cut_contents
{
	my ($was, $is) = @_;
	my $bytes = pick(length $was, length $is);
	my $share = pick(0, 0.5, 1);
	my $contents = '';

	return $was if $was eq $is;
	for (my $at = 0; $at < $bytes; $at += PAGE)
	{
		$contents .= page($at < length $is && rand() < $share ? \$is : \$was, $at);
	}
	return substr($contents, 0, $bytes);
}

# All processes of the server have been killed.  all => 1: everything that was not synced is lost.
sub cut
{
	my ($self, %how) = @_;
	my $data = $self->{node}->data_dir;

	for my $directory ($self->directories)
	{
		my $is = $self->names_now($directory);
		my %there = map { $is->{$_} => "$data/$directory/$_" } keys %$is;
		my $was = $self->names_kept($directory);
		my %names = $how{all} ? %$was : cut_names($was, $is);
		my %contents;

		for my $name (keys %names)
		{
			my $key = $names{$name};
			my $kept = -f "$self->{keep}/kept/$key" ? read_file("$self->{keep}/kept/$key") : '';

			$contents{$name} = $how{all} || !exists $there{$key} ? $kept : cut_contents($kept, read_file($there{$key}));
		}
		unlink values %there;
		write_file("$data/$directory/$_", $contents{$_}) for keys %contents;
	}
	chmod 0600, glob "$data/pg_tsurugi/* $data/pg_tsurugi/*/* $data/pg_wal/*";
	chmod 0700, grep { -d } glob "$data/pg_tsurugi/* $data/pg_wal/*";
	$self->keep_all;
}

1;
