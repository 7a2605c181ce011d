/** Adds an annotation to the audit event: with `Request` only where events show the object that was sent. */
export type Annotate = (key: string, value: string, least?: "Request") => void
