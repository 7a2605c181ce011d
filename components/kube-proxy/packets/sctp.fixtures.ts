/**
 * SCTP by raw sockets: most kernels have it as a module that tests cannot rely on, but route and translate its packets
 * without. An association is begun (INIT) and answered (INIT ACK), as RFC 9260 has it. Perl is part of every Debian.
 */
import { execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"

const run = promisify(execFile)

/** Why SCTP cannot be tried here; undefined when it can. */
export const sctpProblem = (): string | undefined =>
  spawnSync("perl", ["-MSocket", "-e", "socket(S, AF_INET, SOCK_RAW, 132) or die"]).status === 0
    ? undefined
    : "perl and raw sockets are needed"

/** Code of both programs: `packet` encodes a packet with a checksum (CRC32c), `parse` decodes one without its IP header. */
const COMMON = `
use Socket qw(:DEFAULT inet_pton inet_ntop getaddrinfo);
$| = 1;
sub crc { my $c = 0xffffffff; for my $b (unpack "C*", shift) { $c ^= $b; $c = $c & 1 ? ($c >> 1) ^ 0x82f63b78 : $c >> 1 for 1..8 } return ~$c & 0xffffffff }
sub packet { my ($from, $to, $tag, $type) = @_;
  my ($head, $chunk) = (pack("nnN", $from, $to, $tag), pack("CCnNNnnN", $type, 0, 20, 7, 65536, 1, 1, 1));
  return $head . pack("V", crc($head . pack("V", 0) . $chunk)) . $chunk }
sub parse { my $p = shift; $p = substr $p, 4 * (ord($p) & 15) if $family == AF_INET;
  my ($from, $to, $tag, $sum, $type) = unpack "nnNVC", $p; return ($from, $to, $type) }
($ip, $port) = @ARGV; $family = $ip =~ /:/ ? AF_INET6 : AF_INET;
socket(S, $family, SOCK_RAW, 132) or die "socket: $!";
sub address { my $n = inet_pton($family, shift); return $family == AF_INET ? pack_sockaddr_in(0, $n) : pack_sockaddr_in6(0, $n) }
sub name { my ($p, $n) = $family == AF_INET ? unpack_sockaddr_in(shift) : unpack_sockaddr_in6(shift); return inet_ntop($family, $n) }
`
/** Answers at a port, and prints who asked. */
const SERVER = `${COMMON}
print "ready\\n";
while (my $who = recv(S, my $p, 1500, 0)) { my ($from, $to, $type) = parse($p); next if $type != 1 || $to != $port;
  print name($who), "\\n"; send(S, packet($port, $from, 7, 2), 0, $who) }
`
/** Asks every 100 ms until an answer comes, of which it prints the source, or gives up after half a minute. */
const CLIENT = `${COMMON}
$own = 20000 + $$ % 40000;
for (1..300) { send(S, packet($own, $port, 0, 1), 0, address($ip));
  my $in = ""; vec($in, fileno(S), 1) = 1;
  while (select(my $got = $in, undef, undef, 0.1) > 0) { my $who = recv(S, my $p, 1500, 0); my ($from, $to, $type) = parse($p);
    if ($type == 2 && $to == $own) { print name($who), " ", $from, "\\n"; exit } } }
print "dropped\\n";
`
const inNetns = (netns: string, program: string, address: string, port: number): string[] => [
  ...["netns", "exec", netns, "perl", "-e", program, address, String(port)],
]

/** Answers INITs at a port of a network namespace, in the family of `address`, until it is disposed of. */
export async function serveSctp(netns: string, address: string, port: number) {
  const any = familyOf(address) === "IPv6" ? "::" : "0.0.0.0"
  const server = spawn("ip", inNetns(netns, SERVER, any, port), { stdio: ["ignore", "pipe", "inherit"] })
  const askedBy: string[] = []
  const ready = Promise.withResolvers<void>()
  createInterface({ input: server.stdout }).on("line", (line) =>
    line === "ready" ? ready.resolve() : askedBy.push(line),
  )
  await ready.promise
  return {
    /** The addresses of the clients. */
    askedBy,
    async [Symbol.asyncDispose]() {
      server.kill("SIGKILL")
      await once(server, "close")
    },
  }
}

/** Sends an INIT. Returns who answers, `<address> <port>`, or `dropped`. */
export const askSctp = async (netns: string, address: string, port: number): Promise<string> =>
  (await run("ip", inNetns(netns, CLIENT, address, port))).stdout.trim()
