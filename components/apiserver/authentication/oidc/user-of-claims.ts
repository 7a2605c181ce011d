/** How the claims of a token become a user. Source: apiserver plugin/pkg/authenticator/token/oidc/oidc.go. */
import type { Program } from "../../../../pkg/cel/program.ts"
import { CelError, ListValue, type Value } from "../../../../pkg/cel/values/values.ts"
import type { JsonObject } from "../../../../pkg/jwt/jws.ts"
import type { UserInfo } from "../../call/request.ts"
import { withAuthenticated } from "../authenticator.ts"
import { compiled, type ExpressionUse } from "../configuration/expressions.ts"
import type { JWTAuthenticator } from "../configuration/fields.ts"
import { booleanClaim, celValue, ClaimsRefused, textClaim, textsClaim } from "./claims.ts"

interface Expression {
  readonly source: string
  readonly program: Program
}

/**
 * Returns the function that makes the user of claims. The configuration must be valid.
 * @throws ClaimsRefused (the function) in upstream's words
 */
export function userOfClaims({
  claimMappings: { username, groups, uid, extra = [] },
  claimValidationRules = [],
  userValidationRules = [],
}: JWTAuthenticator): (claims: JsonObject) => UserInfo {
  const usernameExpression = expressionOf(username.expression)
  const groupsExpression = expressionOf(groups.expression)
  const uidExpression = expressionOf(uid.expression)
  const extras = extra.map(({ key, valueExpression }) => ({ key, expression: expressionOf(valueExpression)! }))
  const required = claimValidationRules.flatMap(({ claim = "", requiredValue = "" }) =>
    claim === "" ? [] : [{ claim, requiredValue }],
  )
  const claimRules = conditionsOf(claimValidationRules, "claims")
  const userRules = conditionsOf(userValidationRules, "user")

  function nameOf(claims: JsonObject, variables: Variables): string {
    if (usernameExpression !== undefined) {
      const what = "username claim expression"
      const name = within(`oidc: error evaluating ${what}`, () => evaluate(usernameExpression, variables))
      if (typeof name !== "string")
        throw new ClaimsRefused(`oidc: error evaluating ${what}: ${what} must return a string`)
      if (name === "") throw new ClaimsRefused("oidc: empty username via CEL expression is not allowed")
      return name
    }
    const { claim = "", prefix = "" } = username
    const name = within(`oidc: parse username claims ${JSON.stringify(claim)}`, () => textClaim(claims, claim))
    if (claim === "email" && Object.hasOwn(claims, "email_verified")) {
      const isVerified = within("oidc: parse 'email_verified' claim", () => booleanClaim(claims, "email_verified"))
      if (!isVerified) throw new ClaimsRefused("oidc: email not verified")
    }
    return `${prefix}${name}`
  }

  function groupsOf(claims: JsonObject, variables: Variables): readonly string[] {
    const { claim = "", prefix = "" } = groups
    if (claim !== "" && Object.hasOwn(claims, claim))
      return within(`oidc: parse groups claim ${JSON.stringify(claim)}`, () =>
        textsClaim(claims, claim).map((group) => `${prefix}${group}`),
      )
    if (claim !== "") refuseDistributed(claims, claim)
    if (groupsExpression === undefined) return []
    return within("oidc: error evaluating group claim expression", () => textsOf(evaluate(groupsExpression, variables)))
  }

  function uidOf(claims: JsonObject, variables: Variables): string {
    const { claim = "" } = uid
    if (claim !== "") return within(`oidc: parse uid claim ${JSON.stringify(claim)}`, () => textClaim(claims, claim))
    if (uidExpression === undefined) return ""
    const what = "uid claim expression"
    const value = within(`oidc: error evaluating ${what}`, () => evaluate(uidExpression, variables))
    if (typeof value !== "string")
      throw new ClaimsRefused(`oidc: error evaluating ${what}: ${what} must return a string`)
    return value
  }

  function extraOf({ jti }: JsonObject, variables: Variables): Readonly<Record<string, readonly string[]>> {
    const found: Record<string, readonly string[]> = {}
    if (typeof jti === "string" && jti !== "") found[CREDENTIAL_ID] = [`JTI=${jti}`]
    const values = extras.map(({ expression }) => evaluate(expression, variables))
    for (const [i, { key, expression }] of extras.entries()) {
      const texts = within(`oidc: error evaluating extra claim expression: ${expression.source}`, () =>
        textsOf(values[i]!),
      )
      if (texts.length > 0) found[key] = texts
    }
    return found
  }

  function checkRequired(claims: JsonObject): void {
    for (const { claim, requiredValue } of required) {
      if (!Object.hasOwn(claims, claim))
        throw new ClaimsRefused(`oidc: required claim ${claim} not present in ID token`)
      const value = within(`oidc: parse claim ${claim}`, () => textClaim(claims, claim))
      if (value !== requiredValue)
        throw new ClaimsRefused(
          `oidc: required claim ${claim} value does not match. Got = ${value}, want = ${requiredValue}`,
        )
    }
  }

  return (claims) => {
    const variables = { claims: celValue(claims) }
    const name = nameOf(claims, variables)
    const userGroups = groupsOf(claims, variables)
    const userUid = uidOf(claims, variables)
    const userExtra = extraOf(claims, variables)
    checkRequired(claims)
    check("claim validation expression", claimRules, variables)
    check("user info validation rule", userRules, {
      user: { username: name, uid: userUid, groups: userGroups, extra: userExtra },
    })
    return {
      name,
      ...(userUid === "" ? {} : { uid: userUid }),
      groups: withAuthenticated(userGroups),
      ...(Object.keys(userExtra).length === 0 ? {} : { extra: userExtra }),
    }
  }
}

type Variables = Readonly<Record<string, unknown>>

/** The key of a token's id among the extra attributes. Source: apiserver pkg/authentication/user. */
const CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"

/**
 * Differs from upstream, which fetches a claim of groups that the token only refers to (`_claim_names`, OIDC Core
 * 5.6.2) from wherever the token says.
 */
function refuseDistributed(claims: JsonObject, claim: string): void {
  const names = claims["_claim_names"]
  if (typeof names !== "object" || names === null || !Object.hasOwn(names, claim)) return
  throw new ClaimsRefused(
    `oidc: could not expand distributed claims: the token only refers to its claim ${JSON.stringify(claim)}: have the ` +
      "provider put it into the token",
  )
}

function check(
  what: string,
  rules: readonly (Expression & { readonly message: string })[],
  variables: Variables,
): void {
  within(`oidc: error evaluating ${what}`, () => {
    const values = rules.map((rule) => evaluate(rule, variables))
    for (const [i, { source, message }] of rules.entries()) {
      if (typeof values[i] !== "boolean") throw new ClaimsRefused("validation expression must return a boolean")
      if (!values[i]) throw new ClaimsRefused(`validation expression '${source}' failed: ${message}`)
    }
  })
}

function expressionOf(
  source = "",
  variable: "claims" | "user" = "claims",
  use: ExpressionUse = "mapping",
): Expression | undefined {
  if (source === "") return undefined
  const outcome = compiled("", source, variable, use)
  if ("fault" in outcome) throw new Error(outcome.fault.message)
  return { source, program: outcome.program }
}

const conditionsOf = (
  rules: readonly { readonly expression?: string | undefined; readonly message?: string | undefined }[],
  variable: "claims" | "user",
) =>
  rules.flatMap(({ expression, message = "" }) => {
    const condition = expressionOf(expression, variable, "condition")
    return condition === undefined ? [] : [{ ...condition, message }]
  })

function evaluate({ source, program }: Expression, variables: Variables): Value {
  const { value } = program.evaluate(variables)
  if (value instanceof CelError) throw new ClaimsRefused(`expression '${source}' resulted in error: ${value.message}`)
  return value
}

/** Returns what an expression gives as texts: one or several, without empty ones. */
function textsOf(value: Value): readonly string[] {
  if (value === null) return []
  const values = value instanceof ListValue ? [...value] : [value]
  return values.flatMap((text) => {
    if (typeof text !== "string") throw new ClaimsRefused("expression must return a string or a list of strings")
    return text === "" ? [] : [text]
  })
}

/** Adds to the refusals of `work` what was being done. */
function within<T>(what: string, work: () => T): T {
  try {
    return work()
  } catch (err) {
    if (err instanceof ClaimsRefused) throw new ClaimsRefused(`${what}: ${err.message}`)
    throw err
  }
}
