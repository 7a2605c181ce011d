const WORDS: Readonly<Record<string, string>> = {
  EADDRINUSE: "bind: address already in use",
  EACCES: "bind: permission denied",
  EADDRNOTAVAIL: "bind: cannot assign requested address",
  EAFNOSUPPORT: "socket: address family not supported by protocol",
  ENOENT: "bind: no such file or directory",
}

/** Returns the error of a place that cannot be listened on in Go's words; `network` is `tcp`, `tcp4` or `unix`. */
export const bindError = (err: NodeJS.ErrnoException, network: string, place: string): Error =>
  new Error(`listen ${network} ${place}: ${WORDS[err.code ?? ""] ?? err.message}`, { cause: err })
