import type { Program } from "../program.ts"
import { alertmanager } from "./alertmanager.ts"
import { ansible } from "./ansible.ts"
import { bind9 } from "./bind9.ts"
import { cdk8s } from "./cdk8s.ts"
import { clientGo128, clientGo137 } from "./client-go.ts"
import { clientNode } from "./client-node.ts"
import { etcd } from "./etcd.ts"
import { gatekeeper } from "./gatekeeper.ts"
import { haproxy } from "./haproxy.ts"
import { helm3, helm4 } from "./helm.ts"
import { kubectx } from "./kubectx.ts"
import { kustomize } from "./kustomize.ts"
import { kwok } from "./kwok.ts"
import { localPath } from "./local-path.ts"
import { mariadb } from "./mariadb.ts"
import { memcached } from "./memcached.ts"
import { mosquitto } from "./mosquitto.ts"
import { nats } from "./nats.ts"
import { nginx } from "./nginx.ts"
import { nodeExporter } from "./node-exporter.ts"
import { postgresql } from "./postgresql.ts"
import { prometheus } from "./prometheus.ts"
import { python } from "./python.ts"
import { redis } from "./redis.ts"
import { registry } from "./registry.ts"
import { rsyslog } from "./rsyslog.ts"
import { sealedSecrets } from "./sealed-secrets.ts"
import { stern } from "./stern.ts"

/** What `npm run test:ecosystem` runs, in this order, which is that of the table in docs/ecosystem.md. */
export const PROGRAMS: readonly Program[] = [
  helm4,
  helm3,
  kustomize,
  stern,
  kubectx,
  clientGo128,
  clientGo137,
  python,
  clientNode,
  ansible,
  cdk8s,
  nodeExporter,
  prometheus,
  alertmanager,
  nats,
  redis,
  mariadb,
  postgresql,
  memcached,
  etcd,
  mosquitto,
  nginx,
  haproxy,
  rsyslog,
  bind9,
  registry,
  gatekeeper,
  kwok,
  sealedSecrets,
  localPath,
]
