import type { Passthrough } from "../../routing/site.ts"
import type { ParentState } from "../listeners/attachments.ts"
import type { RouteRules } from "./http-rules.ts"
import type { AnyRoute } from "../watching/objects.ts"

/** A route with its parents and compiled rules; its status is made from these. */
export interface RouteState {
  readonly of: AnyRoute
  readonly parents: readonly ParentState[]
  readonly rules: CompiledRoute
}

/** The compiled rules of a route, which are the same at every listener. */
export interface CompiledRoute extends RouteRules {
  readonly passthrough?: Passthrough
}
