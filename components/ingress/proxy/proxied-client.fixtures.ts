/** A client whose requests go through a proxy to one backend, and what they say to each other. */
import { backend, client, startProxy } from "./proxy.fixtures.ts"

export const GET = "GET /a?b HTTP/1.1\r\nHost: shop.example\r\n\r\n"
export const POST = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
export const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
export const HEAD_END = "\r\n\r\n"

/** A proxy with one backend, and a client's connection. */
export async function through(options: Omit<Parameters<typeof startProxy>[0], "endpoints"> = {}) {
  const web = await backend()
  const proxy = await startProxy({ ...options, endpoints: [web.port] })
  const browser = await client(proxy.port)
  return {
    web,
    proxy,
    browser,
    async [Symbol.asyncDispose]() {
      browser.socket.destroy()
      web[Symbol.dispose]()
      await proxy[Symbol.asyncDispose]()
    },
  }
}
