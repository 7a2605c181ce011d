/** An object from which cases are made by changing one field at a time. */
export interface Base {
  /** `<apiVersion> <kind>` */
  readonly kind: string
  /** What is special about it among the bases of its kind. */
  readonly name: string
  /** The object but for its kind and name. */
  readonly body: Json
  /** The status that is set before it is changed; there are such cases only where this is given. */
  readonly status?: Json
  /** For kinds whose names follow a rule: the nth name. */
  readonly nameOf?: (n: number) => string
  /** Fields that servers choose by chance. */
  readonly volatile?: readonly string[]
  /** The server itself writes to such objects, so that changes name no version. */
  readonly unversioned?: true
}

export type Json = Readonly<Record<string, unknown>>
