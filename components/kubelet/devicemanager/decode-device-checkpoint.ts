import { Buffer } from "node:buffer"
import { z } from "zod"
import { checksum, type DeviceRecords } from "./device-checkpoint.ts"
import { ContainerAllocation } from "./device-plugin-service.ts"

const Checkpoint = z.object({ data: z.string(), checksum: z.number() })
const Content = z.object({
  allocations: z.array(
    z.object({
      podUid: z.string(),
      container: z.string(),
      resource: z.string(),
      deviceIds: z.array(z.string()),
      allocation: z.base64(),
    }),
  ),
  resources: z.array(z.string()),
})

/** Returns what the text of the file records. @throws Error that says what is wrong with the text */
export function decodeCheckpoint(text: string): DeviceRecords {
  const file = Checkpoint.parse(JSON.parse(text))
  if (checksum(file.data) !== file.checksum) throw new Error("the checksum is not that of the data")
  const { allocations, resources } = Content.parse(JSON.parse(file.data))
  return {
    resources,
    allocations: allocations.map(({ allocation, ...rest }) => ({
      ...rest,
      allocation: ContainerAllocation.decode(Buffer.from(allocation, "base64")),
    })),
  }
}
