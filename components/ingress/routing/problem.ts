import type { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"

/** A problem with an Ingress that its owner should know, shown as an Event. */
export interface Problem {
  readonly ingress: Ingress
  readonly reason: "HostConflict" | "PathConflict" | "ResourceBackend" | "InvalidAnnotation" | "InvalidTLS"
  readonly message: string
}
