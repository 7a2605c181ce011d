import type { RecordedWrite } from "../../../../pkg/replay/format.ts"
import type { Author } from "./authors.ts"

/** A recorded write with its place in the store, its time in milliseconds since the epoch, and who has made it. */
export interface PlacedWrite extends Pick<RecordedWrite, "revision" | "verb" | "user" | "clients" | "object"> {
  readonly key: string
  readonly time: number
  readonly author: Author
}
