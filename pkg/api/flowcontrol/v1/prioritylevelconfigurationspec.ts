import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { PriorityLevelConfigurationCondition } from "./condition.ts"

/** Source: k8s.io/api flowcontrol/v1/types.go. */

export const QueuingConfiguration = message("flowcontrol.v1.QueuingConfiguration", "The queues of a priority level.", {
  queues: f.int32(1, "Number of queues.").default(64),
  handSize: f.int32(2, "Number of queues that a flow may use; a request goes into the shortest of them.").default(8),
  queueLengthLimit: f.int32(3, "Number of requests that may wait in one queue.").default(50),
})
export interface QueuingConfiguration extends ObjectOf<typeof QueuingConfiguration> {}

export const LimitResponse = message(
  "flowcontrol.v1.LimitResponse",
  "How requests are handled that cannot be served at once.",
  {
    type: f.string(1, "Queue or Reject.").required().ownRule(),
    queuing: f.message(2, QueuingConfiguration, "The queues; only for type Queue.").pointer(),
  },
  { unions: [{ discriminator: "type", fields: ["queuing"] }] },
)
export interface LimitResponse extends ObjectOf<typeof LimitResponse> {}

export const LimitedPriorityLevelConfiguration = message(
  "flowcontrol.v1.LimitedPriorityLevelConfiguration",
  "How many requests of a priority level are served at once, and how the rest are handled.",
  {
    nominalConcurrencyShares: f
      .int32(1, "Share of the server's seats; 0 makes a level whose requests are never served.")
      .default(30)
      .pointer(),
    limitResponse: f.message(2, LimitResponse, "How requests are handled that cannot be served at once.").always(),
    lendablePercent: f.int32(3, "How much of the seats other levels may borrow, in percent.").default(0).pointer(),
    borrowingLimitPercent: f
      .int32(4, "How many seats the level may borrow, in percent of its own; any number unless given.")
      .pointer(),
  },
)
export interface LimitedPriorityLevelConfiguration extends ObjectOf<typeof LimitedPriorityLevelConfiguration> {}

export const ExemptPriorityLevelConfiguration = message(
  "flowcontrol.v1.ExemptPriorityLevelConfiguration",
  "The seats that the exempt level takes from other levels. It is never limited itself.",
  {
    nominalConcurrencyShares: f.int32(1, "Share of the server's seats.").default(0).pointer(),
    lendablePercent: f.int32(2, "How much of the seats other levels may borrow, in percent.").default(0).pointer(),
  },
)
export interface ExemptPriorityLevelConfiguration extends ObjectOf<typeof ExemptPriorityLevelConfiguration> {}

export const PriorityLevelConfigurationSpec = message(
  "flowcontrol.v1.PriorityLevelConfigurationSpec",
  "How requests of the level are served.",
  {
    type: f.string(1, "Exempt or Limited.").required().ownRule(),
    limited: f.message(2, LimitedPriorityLevelConfiguration, "The limits of a Limited level.").pointer(),
    exempt: f.message(3, ExemptPriorityLevelConfiguration, "Seats of the exempt level.").pointer(),
  },
  { unions: [{ discriminator: "type", fields: ["exempt", "limited"] }] },
)
export interface PriorityLevelConfigurationSpec extends ObjectOf<typeof PriorityLevelConfigurationSpec> {}

export const PriorityLevelConfigurationStatus = message(
  "flowcontrol.v1.PriorityLevelConfigurationStatus",
  "The present state.",
  { conditions: f.list(1, PriorityLevelConfigurationCondition, "Aspects of the state.").listMap("type").merge("type") },
)
