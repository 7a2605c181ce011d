/** Other certificates than the usual one of a listener, for clients that ask for a name (SNI). */
import { createSecureContext, type SecureContext, type SecureContextOptions } from "node:tls"

/** A certificate and its key, as PEM. The certificate has its intermediates after it. */
export interface KeyPair {
  readonly cert: string
  readonly key: string
}

/**
 * Returns the pair for a server name; undefined for the listener's usual one. A pair that is replaced is another
 * object. Clients that send no name, as to an address, get the usual one: Bun tells a listener of names only.
 */
export type CertificateChoice = (name: string) => KeyPair | undefined

/** Applies a choice to the connections of a listener. */
export class ChosenCertificates {
  readonly #choice: CertificateChoice
  #usual: SecureContextOptions
  #contexts = new WeakMap<KeyPair, SecureContext>()

  /** @param usual what the listener itself has: versions, ciphers and clients' authorities hold for every certificate */
  constructor(choice: CertificateChoice, usual: SecureContextOptions) {
    this.#choice = choice
    this.#usual = usual
  }

  /** Sets what new connections have in common with the usual certificate. */
  setUsual(usual: SecureContextOptions): void {
    this.#usual = usual
    this.#contexts = new WeakMap()
  }

  /** The `SNICallback` of node:tls, which is not called where the client sends no name. */
  readonly onName = (name: string, done: (err: Error | null, context?: SecureContext) => void): void => {
    const pair = this.#choice(name)
    done(null, pair === undefined ? undefined : this.#contextOf(pair))
  }

  #contextOf(pair: KeyPair): SecureContext {
    let context = this.#contexts.get(pair)
    if (context === undefined) {
      context = createSecureContext({ ...this.#usual, cert: pair.cert, key: pair.key })
      this.#contexts.set(pair, context)
    }
    return context
  }
}
