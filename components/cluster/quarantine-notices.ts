import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import type { Component } from "../../pkg/component/component.ts"
import { createEventRecorder } from "../../pkg/controller/event-recorder.ts"
import type { Quarantine } from "../../pkg/quarantine/quarantine.ts"
import { CONTROLLERS_OFF_MS } from "../../pkg/quarantine/record.ts"
import type { ApiServer } from "../apiserver/apiserver.ts"
import type { Clients } from "./clients.ts"

const HOW_TO_GO_ON =
  `controllers, scheduler and manifests are off for ${CONTROLLERS_OFF_MS / 60_000} minutes. Delete or edit what ends the ` +
  "server until then; its log names what was in hand"

/** Says at /readyz?verbose what is set aside, and by an Event of kube-system that controllers are off. */
export function quarantineNotices(
  quarantine: Quarantine,
  { apiServer, clients }: { readonly apiServer: Pick<ApiServer, "health">; readonly clients: Clients },
): Component {
  const { failedStarts } = quarantine
  const off = failedStarts === undefined ? undefined : `${failedStarts} starts in a row have failed, so ${HOW_TO_GO_ON}`
  const context = () => clients.contextFor({ name: "system:k3ts-quarantine", groups: ["system:masters"] })
  return {
    name: "quarantine",
    async start() {
      apiServer.health.addNote("quarantine", () => {
        const items = quarantine.setAside.map(({ place, key, why }) => `${place} skips ${key}, because ${why}`)
        return [...(off === undefined ? [] : [off]), ...items].join("; ") || undefined
      })
      if (off === undefined) return
      const own = context()
      own.log.error("The controllers are off", { failedStarts, mend: HOW_TO_GO_ON })
      const events = createEventRecorder(own, "quarantine")
      events.event(await own.client.get(Namespace, { name: "kube-system" }), "Warning", "ControllersOff", off)
      await events.stop()
      clients.release(own)
    },
    stop: () => Promise.resolve(),
  }
}
