/** One request to the server. */
export interface RestRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS"
  /** An absolute path: `/api/v1/namespaces/default/pods`. */
  readonly path: string
  /** Parameters in the order of their names; those without a value are left out. */
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly accept?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly contentType?: string
  /** The longest time for the answer, in milliseconds, where the command line does not say. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}
