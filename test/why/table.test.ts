/**
 * The table of broken situations: what breaks, the one right cause, and that each mend which is named makes it well.
 * All in virtual time on simulated nodes; asked as a user asks, by `kubectl why`.
 */
import { describe, test } from "bun:test"
import { CLIENTS } from "./clients.cases.ts"
import { CONFIGURATION } from "./configuration.cases.ts"
import { CONNECTIONS } from "./connections.cases.ts"
import { CRASHES } from "./crashes.cases.ts"
import { DEVICES } from "./devices.cases.ts"
import { EVERYDAY } from "./everyday.cases.ts"
import { FORUMS } from "./forums.cases.ts"
import { GATEWAYS } from "./gateways.cases.ts"
import { IMAGES } from "./images.cases.ts"
import { MISLEADING } from "./misleading.cases.ts"
import { NEIGHBOURS } from "./neighbours.cases.ts"
import { NODES } from "./nodes.cases.ts"
import { POLICIES } from "./policies.cases.ts"
import { SAID_BY_PROGRAMS } from "./programs.cases.ts"
import { REAL_NODES } from "./real-nodes.cases.ts"
import { REFUSALS } from "./refusals.cases.ts"
import { NAMING } from "./naming.cases.ts"
import { REPORTS } from "./reports.cases.ts"
import { RUNTIMES } from "./runtimes.cases.ts"
import { SCHEDULING } from "./scheduling.cases.ts"
import { SERVICES } from "./services.cases.ts"
import { check, type Situation } from "./situation.fixtures.ts"
import { STORAGE } from "./storage.cases.ts"
import { WORKLOADS } from "./workloads.cases.ts"

const TABLE: Readonly<Record<string, readonly Situation[]>> = {
  "images that cannot be pulled": IMAGES,
  "containers that crash or are not ready": CRASHES,
  "what a pod refers to": CONFIGURATION,
  "pods that no node takes": SCHEDULING,
  "nodes that are not well": NODES,
  "claims and volumes": STORAGE,
  "Services, names, policies of the network and Ingresses": SERVICES,
  "workloads that do not do their work": WORKLOADS,
  "connections that lead elsewhere": CONNECTIONS,
  "what is refused or held": POLICIES,
  "who refuses, and who is asked": REFUSALS,
  "what something else hides": MISLEADING,
  "what programs say of themselves": SAID_BY_PROGRAMS,
  "what happens every day": EVERYDAY,
  "what a node cannot do": RUNTIMES,
  "Gateways and their routes": GATEWAYS,
  "devices that pods claim": DEVICES,
  "what people ask in forums": FORUMS,
  "what people report of their clusters": REPORTS,
  "objects that only name others": NAMING,
  "what clients say of what they ask": CLIENTS,
  "what objects share with others": NEIGHBOURS,
  "what real nodes say": REAL_NODES,
}

for (const [title, situations] of Object.entries(TABLE))
  describe(`why names the cause of ${title}`, () => {
    // given the situation, when a user asks, then the cause comes first and each mend makes it well
    test.each([...situations])("$title", (situation) => check(situation))
  })
