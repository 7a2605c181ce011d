import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { createEventRecorder } from "../../pkg/controller/event-recorder.ts"
import type { Quarantine } from "../../pkg/quarantine/quarantine.ts"
import { CONTROLLERS_OFF_MS } from "../../pkg/quarantine/record.ts"
import type { Health } from "../apiserver/health/health.ts"
import type { Clients } from "./clients.ts"

const HOW_TO_GO_ON =
  `controllers, scheduler and manifests are off for ${CONTROLLERS_OFF_MS / 60_000} minutes. Delete or edit what ends the ` +
  "server until then; its log names what was in hand"

/** Says at /readyz?verbose what is set aside and, while controllers are off, why; and that by an Event in kube-system. */
export function quarantineNotices(
  quarantine: Pick<Quarantine, "failedStarts" | "setAside">,
  {
    apiServer,
    clients,
  }: {
    readonly apiServer: { readonly health: Pick<Health, "addNote"> }
    readonly clients: Pick<Clients, "contextFor" | "release">
  },
): Component {
  const { failedStarts } = quarantine
  const off = failedStarts === undefined ? undefined : `${failedStarts} starts in a row have failed, so ${HOW_TO_GO_ON}`
  let own: ComponentContext | undefined
  return {
    name: "quarantine",
    async start() {
      own = clients.contextFor({ name: "system:k3ts-quarantine", groups: ["system:masters"] })
      const { clock, log, client } = own
      const until = clock.monotonic() + CONTROLLERS_OFF_MS
      apiServer.health.addNote("quarantine", () => {
        const items = quarantine.setAside.map(({ place, key, why }) => `${place} skips ${key}, because ${why}`)
        return [...(off !== undefined && clock.monotonic() < until ? [off] : []), ...items].join("; ") || undefined
      })
      if (off === undefined) return
      log.error("The controllers are off", { failedStarts, mend: HOW_TO_GO_ON })
      try {
        const events = createEventRecorder(own, "quarantine")
        events.event(await client.get(Namespace, { name: "kube-system" }), "Warning", "ControllersOff", off)
        await events.stop()
      } catch (err) {
        log.warn("Failed to write the Event that the controllers are off", { err })
      }
    },
    async stop() {
      if (own !== undefined) clients.release(own)
    },
  }
}
