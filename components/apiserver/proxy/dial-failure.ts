/**
 * Describes why a connection to an address (`host:port`) could not be opened, in Go's words, which people search for;
 * undefined for other errors. `code` is that of the system's error.
 */
export function dialFailure(code: string | undefined, address: string): string | undefined {
  const why = WORDS[code ?? ""]
  return why === undefined ? undefined : `dial tcp ${address}: ${why}`
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  ETIMEDOUT: "i/o timeout",
}
