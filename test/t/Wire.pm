# A session of the extended protocol.
package Wire;

use strict;
use warnings;
use IO::Socket::UNIX;

sub new
{
	my ($class, $node) = @_;
	my $path = $node->host . '/.s.PGSQL.' . $node->port;
	my $self = bless { socket => IO::Socket::UNIX->new(Peer => $path) || die "$path: $!" }, $class;
	my $body = pack('N (Z*)4 x', 196608, user => (getpwuid($<))[0], database => 'postgres');

	$self->{socket}->print(pack('N', 4 + length $body) . $body);
	$self->answer;
	return $self;
}

# Adds messages: type, body.
sub add { my ($self, $type, $body) = @_; $self->{out} .= $type . pack('N', 4 + length $body) . $body; return $self; }
sub parse { my ($self, $name, $sql) = @_; return $self->add('P', pack('Z* Z* n', $name, $sql, 0)); }

# Parameters are sent as text.
sub bind
{
	my ($self, $portal, $statement, $binary, @values) = @_;

	return $self->add('B', pack('Z* Z* n n', $portal, $statement, 0, scalar @values) .
		join('', map { pack('N/a*', $_) } @values) . pack('n n', 1, $binary));
}
sub execute { my ($self, $portal, $rows) = @_; return $self->add('E', pack('Z* N', $portal, $rows)); }
sub close_portal { my ($self, $portal) = @_; return $self->add('C', pack('a Z*', 'P', $portal)); }

# Sends a statement at once; returns what sync does.
sub query { my ($self, $sql) = @_; return $self->parse('', $sql)->bind('', '', 0)->execute('', 0)->sync; }

# COPY FROM STDIN with the data in these parts.  The client says that it is whole; sends that, and returns what sync does.
sub begin_copy
{
	my ($self, $sql, @parts) = @_;

	$self->parse('', $sql)->bind('', '', 0)->execute('', 0);
	$self->add('d', $_) for @parts;
	return $self;
}
sub copy { my ($self, @given) = @_; return $self->begin_copy(@given)->add('c', '')->sync; }

# Sends all, and waits for nothing.
sub send
{
	my ($self) = @_;

	$self->{socket}->print($self->{out});
	$self->{socket}->flush;
	$self->{out} = '';
	return $self;
}

# Sends all, and returns what comes back: rows in hexadecimal, errors (their code, and with other fields
# if the caller has set what these are), ends.
sub sync
{
	my ($self) = @_;

	$self->add('S', '');
	$self->{socket}->print($self->{out});
	$self->{out} = '';
	return $self->answer;
}

sub take
{
	my ($self, $bytes) = @_;
	my $data = '';

	while (length $data < $bytes)
	{
		$self->{socket}->read($data, $bytes - length $data, length $data) || die "the session ended\n";
	}
	return $data;
}

# Of a row: in hexadecimal.
sub fields
{
	my ($body) = @_;
	my ($count) = unpack('n', substr $body, 0, 2, '');
	my @fields;

	for (1 .. $count)
	{
		my $length = unpack('l>', substr $body, 0, 4, '');
		push @fields, $length < 0 ? 'NULL' : unpack('H*', substr $body, 0, $length, '');
	}
	return @fields;
}

sub answer
{
	my ($self) = @_;
	my @seen;

	$self->{socket}->flush;
	for (;;)
	{
		my ($type, $length) = unpack('a N', $self->take(5));
		my $body = $length > 4 ? $self->take($length - 4) : '';

		push @seen, join(',', fields($body)) if $type eq 'D';
		push @seen, unpack('Z*', $body) if $type eq 'C';
		push @seen, 'suspended' if $type eq 's';
		push @seen, 'ERROR ' . join(' ', map { $body =~ /(?:^|\0)$_([^\0]*)\0/ } 'C', split //, $self->{fields} // '') if $type eq 'E';
		return join(' ', @seen) if $type eq 'Z';
	}
}

1;
