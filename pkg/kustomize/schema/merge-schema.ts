/** What a strategic merge patch has to know of a type: the lists that are merged item by item. */
export interface MergeSchema {
  /**
   * The keys by which the items of a list are merged: none for a list of scalars, undefined for a list that is
   * replaced.
   */
  readonly keys: readonly string[] | undefined
  /** The type of the items of a list. */
  readonly items: MergeSchema | undefined
  /** Returns the type of a field. */
  field(name: string): MergeSchema | undefined
}
