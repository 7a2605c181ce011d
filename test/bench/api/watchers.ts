import type { TestServer } from "../../harness/server.ts"

const LINE_FEED = 10
const CLOSING_BRACE = 0x7d

/** How many events of a watch end in the bytes. */
export const eventsIn = (chunk: Uint8Array): number => {
  let count = 0
  for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1))
    if (chunk[at - 1] === CLOSING_BRACE) count++
  return count
}

/**
 * Watches a path on `count` connections of their own, and calls `arrived` with the number of events that reached one of
 * them. Plain sockets: they cost the least, and the server's work is what shows. Returns what ends the watches.
 */
export async function plainWatchers(
  { port, token }: TestServer,
  count: number,
  path: string,
  arrived: (events: number) => void,
): Promise<() => void> {
  const sockets = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Bun.Socket>((resolve, reject) => {
          let begun = false
          Bun.connect({
            hostname: "127.0.0.1",
            port,
            tls: { rejectUnauthorized: false },
            socket: {
              open: (socket) =>
                void socket.write(`GET ${path} HTTP/1.1\r\nHost: k3ts\r\nAuthorization: Bearer ${token}\r\n\r\n`),
              data(socket, chunk) {
                if (begun) arrived(eventsIn(chunk))
                begun = true
                resolve(socket)
              },
            },
          }).catch(reject)
        }),
    ),
  )
  return () => sockets.forEach((socket) => void socket.end())
}
