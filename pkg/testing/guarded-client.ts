import type { Client } from "../client/client.ts"

/** The same client, but for asking `alive` before each call: it throws what a client says that is used after the end of its cluster. */
export function guarded(client: Client, alive: () => void): Client {
  return new Proxy(client, {
    get:
      (target, name: keyof Client) =>
      (...args: unknown[]) => {
        alive()
        return (target[name] as (...given: unknown[]) => unknown)(...args)
      },
  })
}
