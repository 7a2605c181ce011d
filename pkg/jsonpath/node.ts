/** A part of a JSONPath template. Source: client-go util/jsonpath/node.go. */
export type JsonPathNode =
  | { readonly kind: "list"; readonly nodes: JsonPathNode[] }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "identifier"; readonly name: string }
  | ArrayNode
  | FilterNode
  /** A number or a truth value. */
  | { readonly kind: "constant"; readonly value: unknown }
  | { readonly kind: "wildcard" }
  | { readonly kind: "recursive" }
  | { readonly kind: "union"; readonly lists: readonly ListNode[] }

export type ListNode = Extract<JsonPathNode, { readonly kind: "list" }>

/** `[start:end:step]`; the end of `[start]` is derived from its start. */
export interface ArrayNode {
  readonly kind: "array"
  readonly start: number | undefined
  readonly end: number | undefined
  readonly isEndDerived: boolean
  readonly step: number | undefined
}

/** `[?(left operator right)]`; the operator of a filter without one is `exists`. */
export interface FilterNode {
  readonly kind: "filter"
  readonly left: ListNode
  readonly right: ListNode
  readonly operator: string
}
