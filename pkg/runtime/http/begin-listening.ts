import type { ListenOptions, Server } from "node:net"

/**
 * Resolves when the server listens; rejects with the kernel's error when it cannot. The error listener stays, because
 * later errors, such as that of a connection which cannot be accepted because the process has too many open files,
 * concern one connection and would otherwise end the process.
 */
export const beginListening = (server: Pick<Server, "on" | "listen">, where: ListenOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    server.on("error", reject)
    server.listen(where, resolve)
  })
