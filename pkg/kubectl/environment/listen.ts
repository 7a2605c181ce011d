import type { Duplex } from "node:stream"

/** A port of this machine that takes connections. */
export interface Listener {
  readonly address: string
  readonly port: number
  close(): void
}

/**
 * Listens on an address; port 0 takes a free one. Rejects in Go's words: `listen tcp4 127.0.0.1:80: bind: address
 * already in use`.
 */
export type Listen = (address: string, port: number, accept: (connection: Duplex) => void) => Promise<Listener>
