import type { Endpoints } from "../../api/core/v1/service/endpoints.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { describeMetadata } from "./metadata.ts"
import { description } from "./prefix-writer.ts"

const ENDPOINTS = { group: "", version: "v1", resource: "endpoints" }

export const describeEndpoints: Describer = async (describing, namespace, name) => {
  const endpoints = await describing.client.get<Endpoints>(ENDPOINTS, namespace, name)
  const events = await eventsOf(describing, endpoints)
  return description((w) => {
    describeMetadata(w, endpoints.metadata)
    w.row(0, "Subsets:")
    for (const { addresses = [], notReadyAddresses = [], ports = [] } of endpoints.subsets ?? []) {
      w.row(1, "Addresses:", addresses.map(({ ip }) => ip).join(",") || "<none>")
      w.row(1, "NotReadyAddresses:", notReadyAddresses.map(({ ip }) => ip).join(",") || "<none>")
      if (ports.length > 0) {
        w.row(1, "Ports:")
        w.row(2, "Name", "Port", "Protocol")
        w.row(2, "----", "----", "--------")
      }
      for (const port of ports) w.row(2, port.name || "<unset>", port.port, port.protocol ?? "")
      w.row(0)
    }
    describeEvents(w, events, describing.now())
  })
}
