/** What a container or sandbox did, or, with `Relist`, that the connection is new and events may have been missed. */
export type ContainerEvent =
  | { readonly type: "Relist" }
  | {
      readonly type: "Created" | "Started" | "Stopped" | "Deleted" | "OutOfMemory"
      /** Of a container, or of a sandbox: a sandbox that dies is told in the same way. */
      readonly containerId: string
      readonly podSandboxId?: string
    }

/** One source of events: each call opens one stream, which ends or throws when the connection breaks. */
export type EventSource = (signal: AbortSignal, onSent: () => void) => AsyncIterable<ContainerEvent>
