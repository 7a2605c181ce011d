import { finding } from "../answer.ts"
import { doctor, healthy, unwell } from "../doctor.ts"
import { recentEvents } from "../events.ts"
import { CLAIMS, VOLUMES } from "../reading/kinds.ts"
import { command } from "../command.ts"

export const volumeDoctor = doctor(VOLUMES, async (volume, { reader }) => {
  const { spec, status, metadata } = volume
  const { phase, message = "" } = status
  const events = await recentEvents(reader, volume, ["Warning"])
  const claim = spec.claimRef
  switch (phase) {
    case "Released":
      return unwell("is released", [
        finding(
          "volume-released",
          `its claim ${claim?.namespace}/${claim?.name} is gone, and it is kept with its data (persistentVolumeReclaimPolicy ${spec.persistentVolumeReclaimPolicy ?? "Retain"}): no other claim gets it`,
          {
            evidence: events,
            hints: [
              `${command`kubectl patch pv ${metadata.name ?? ""} --type=merge -p '{"spec":{"claimRef":null}}'`} lets another claim have it, with the data that is on it`,
            ],
          },
        ),
      ])
    case "Failed":
      return unwell("has failed", [
        finding("volume-failed", `it could not be reclaimed: ${message}`, { evidence: events }),
      ])
    case "Bound": {
      const there = await reader.get(CLAIMS, claim?.namespace, claim?.name ?? "")
      return there === undefined
        ? unwell("is bound to nothing", [
            finding("claim-missing", `its claim ${claim?.namespace}/${claim?.name} does not exist`),
          ])
        : healthy(`is bound to ${claim?.namespace}/${claim?.name}`)
    }
    default:
      return healthy(`is ${(phase ?? "new").toLowerCase()}`)
  }
})
