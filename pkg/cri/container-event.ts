/** What happened to a container or sandbox. `Relist`: the connection is new, so events may have been missed. */
export type ContainerEvent =
  | { readonly type: "Relist" }
  | {
      readonly type: "Created" | "Started" | "Stopped" | "Deleted" | "OutOfMemory"
      /** The id of a container or a sandbox: the death of a sandbox is reported in the same way. */
      readonly containerId: string
      readonly podSandboxId?: string
    }

/** One source of events: each call opens one stream, which ends or throws when the connection breaks. */
export type EventSource = (signal: AbortSignal, onSent: () => void) => AsyncIterable<ContainerEvent>
