import { keyFrom } from "../../../../pkg/client/informer.ts"
import type { Attachment, ParentState } from "./attachments.ts"
import { ClaimedHosts } from "./claimed-hosts.ts"
import { fails, holds } from "../status/conditions.ts"
import type { ListenerState } from "./listeners.ts"
import type { SiteTable } from "../routes/site-table.ts"
import type { RouteState } from "../routes/route-state.ts"

/** Causes that a condition names; a route may have thousands of hosts at its listeners. */
const MOST_NAMED = 3

/**
 * Detaches routes from listeners where an older route of the other kind has a host in common with them: HTTPRoutes and
 * GRPCRoutes cannot share hosts. `routes` are oldest first. Source: apis/v1/grpcroute_types.go GRPCRoute. It names no
 * reason for this; HostnameConflict, a reason of listeners, is what other implementations use.
 */
export function withoutKindConflicts(routes: readonly RouteState[]): readonly RouteState[] {
  const claims = new Map<ListenerState, Readonly<Record<"HTTPRoute" | "GRPCRoute", ClaimedHosts>>>()
  const claimsOf = (listener: ListenerState) => {
    let known = claims.get(listener)
    if (known === undefined)
      claims.set(listener, (known = { HTTPRoute: new ClaimedHosts(), GRPCRoute: new ClaimedHosts() }))
    return known
  }
  return routes.map((route) => {
    const { kind, route: object } = route.of
    if (kind === "TLSRoute") return route
    const otherKind = kind === "HTTPRoute" ? "GRPCRoute" : "HTTPRoute"
    const name = `${kind} ${keyFrom(object.metadata)}`
    return withAttachments(route, `hosts are taken by an older ${otherKind}`, ({ state, hostnames }) => {
      const claimed = claimsOf(state)
      for (const host of hostnames) {
        const holder = claimed[otherKind].holderOf(host)
        if (holder !== undefined) return { isKept: false, causes: [`${textOf(host)} (${holder})`] }
      }
      for (const host of hostnames) claimed[kind].claim(host, name)
      return { isKept: true, causes: [] }
    })
  })
}

/** Detaches routes from listeners all of whose hosts other Gateways serve, and names hosts that a route has lost. */
export function withoutLostHosts(routes: readonly RouteState[], table: SiteTable): readonly RouteState[] {
  return routes.map((route) =>
    withAttachments(route, "hosts are served for older routes of other Gateways", ({ state, hostnames }) => {
      const causes = hostnames.flatMap((host) => {
        const owner = table.otherOwnerOf(state, host)
        return owner === undefined ? [] : `${textOf(host)} (Gateway ${owner})`
      })
      return { isKept: causes.length < hostnames.length, causes }
    }),
  )
}

interface Judged {
  readonly isKept: boolean
  /** What stands against the attachment or a part of its hosts. */
  readonly causes: readonly string[]
}

/** Keeps the attachments that `judge` keeps, and says in the condition Accepted why others are lost. */
function withAttachments(route: RouteState, why: string, judge: (attachment: Attachment) => Judged): RouteState {
  return {
    ...route,
    parents: route.parents.map((parent): ParentState => {
      const causes = new Set<string>()
      const attachments = parent.attachments.filter((attachment) => {
        const { isKept, causes: own } = judge(attachment)
        for (const cause of own) causes.add(cause)
        return isKept
      })
      if (causes.size === 0) return parent
      const named = [...causes].slice(0, MOST_NAMED).join(", ")
      const rest = causes.size > MOST_NAMED ? ` and ${causes.size - MOST_NAMED} more` : ""
      const message = [parent.accepted.message, `${why}: ${named}${rest}`].filter((text) => text !== "").join("; ")
      const accepted =
        attachments.length === 0
          ? fails("Accepted", "HostnameConflict", message)
          : holds("Accepted", "Accepted", message)
      return { ...parent, accepted, attachments }
    }),
  }
}

const textOf = (host: string): string => (host === "" ? "every host" : host)
