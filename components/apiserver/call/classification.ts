/** The uids of a request's FlowSchema and priority level, which clients get as response headers. */
export interface Classification {
  readonly schemaUid: string
  readonly levelUid: string
}
