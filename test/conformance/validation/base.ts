/** An object from which cases are made by changing one field at a time. */
export interface Base {
  /** `<apiVersion> <kind>` */
  readonly kind: string
  /** How it differs from the other bases of its kind. */
  readonly name: string
  /** The object without its kind and name. */
  readonly body: Json
  /** The status that is set first. Cases that change the status exist only if this is given. */
  readonly status?: Json
  /** Returns the nth name, for kinds whose names must follow a rule. */
  readonly nameOf?: (n: number) => string
  /** Paths of fields whose values are random. */
  readonly volatile?: readonly string[]
  /** Whether the server itself writes to such objects; then updates are sent without a resource version. */
  readonly unversioned?: true
}

export type Json = Readonly<Record<string, unknown>>
