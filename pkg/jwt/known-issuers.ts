/** How many tokens are kept: as many as verifiers remember. */
const MOST = 4096

/**
 * The issuers of tokens whose signatures are good. Several verifiers are asked about each token, in turn. This tells a
 * verifier that a token has the issuer of another one, without parsing it, which would cost half as much as a GET. Only
 * tokens that the cluster has signed are kept, so nobody can fill the memory with texts that are none.
 */
export class KnownIssuers {
  readonly #byToken = new Map<string, string>()

  /** Returns undefined for a token that is not known. */
  of(token: string): string | undefined {
    return this.#byToken.get(token)
  }

  add(token: string, issuer: string): void {
    if (this.#byToken.size >= MOST) this.#byToken.delete(this.#byToken.keys().next().value!)
    this.#byToken.set(token, issuer)
  }
}
