import type { Program } from "../program.ts"
import { clientGo137 } from "./client-go.ts"
import { helm3, helm4 } from "./helm.ts"
import { kustomize } from "./kustomize.ts"
import { mariadb } from "./mariadb.ts"
import { nats } from "./nats.ts"
import { nodeExporter } from "./node-exporter.ts"
import { redis } from "./redis.ts"
import { stern } from "./stern.ts"

/** What `npm run test:ecosystem` runs, in this order, which is that of the table in docs/ecosystem.md. */
export const PROGRAMS: readonly Program[] = [
  helm4,
  helm3,
  kustomize,
  stern,
  clientGo137,
  nodeExporter,
  nats,
  redis,
  mariadb,
]
