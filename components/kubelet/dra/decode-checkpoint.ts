import { z } from "zod"
import { checksum, type ClaimState } from "./claim-checkpoint.ts"

const Device = z.object({
  PoolName: z.string(),
  DeviceName: z.string(),
  ShareID: z.string().nullish(),
  RequestNames: z.array(z.string()).nullable(),
  CDIDeviceIDs: z.array(z.string()).nullable(),
})

const Claim = z.object({
  ClaimUID: z.string(),
  ClaimName: z.string(),
  Namespace: z.string(),
  PodUIDs: z.record(z.string(), z.object({})),
  DriverState: z.record(z.string(), z.object({ Devices: z.array(Device).nullable() })),
})

const Checkpoint = z.object({ Data: z.string(), Checksum: z.number() })
const Content = z.object({ ClaimInfoStateList: z.array(Claim).nullable() })

/** Returns the claims in the text of the file. @throws Error that says what is wrong with the text */
export function decodeCheckpoint(text: string): readonly ClaimState[] {
  const { Data, Checksum } = Checkpoint.parse(JSON.parse(text))
  if (checksum(Data) !== Checksum) throw new Error("the checksum is not that of the data")
  return Content.parse(JSON.parse(Data)).ClaimInfoStateList ?? []
}
