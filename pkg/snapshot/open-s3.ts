import type { Clock } from "../clock/clock.ts"
import type { S3Config } from "./s3-client.ts"
import type { S3Store } from "./s3-store.ts"

/** Opens the storage; `close` it after use. The code for it is loaded only now, since few clusters use it. */
export async function openS3(config: S3Config, clock: Clock): Promise<S3Store> {
  const [{ S3Client }, { S3Store }] = await Promise.all([import("./s3-client.ts"), import("./s3-store.ts")])
  return new S3Store(new S3Client(config, clock), config, clock)
}
