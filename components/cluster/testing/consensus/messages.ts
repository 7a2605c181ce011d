import type { Proposal } from "./keyspace.ts"

/** An entry of a member's log. A new leader begins its term with one that has no proposal. */
export interface LogItem {
  readonly term: number
  readonly proposal: Proposal | undefined
}

/** What members send to each other. Source: the Raft paper (Ongaro, Ousterhout 2014), sections 5 and 8. */
export type Message =
  | { readonly is: "vote"; readonly term: number; readonly lastIndex: number; readonly lastTerm: number }
  | { readonly is: "voted"; readonly term: number; readonly granted: boolean }
  | {
      readonly is: "append"
      readonly term: number
      /** The number of items before `items`, and the term of the last one of them. */
      readonly before: number
      readonly beforeTerm: number
      readonly items: readonly LogItem[]
      /** The number of committed items. */
      readonly commit: number
      /** Counts the leader's broadcasts: an answer to it confirms the leader for reads that came before it. */
      readonly round: number
    }
  | {
      readonly is: "appended"
      readonly term: number
      readonly ok: boolean
      /** The number of items that agree with the leader's; unless `ok`, the number of items that may agree. */
      readonly length: number
      readonly round: number
    }
  | { readonly is: "propose"; readonly proposal: Proposal }
  | { readonly is: "askRead"; readonly id: string }
  /** The read may be answered once this number of items has been applied. */
  | { readonly is: "readAt"; readonly id: string; readonly length: number }
  /** The member that was asked does not lead: nothing has happened. */
  | { readonly is: "refused"; readonly id: string }
