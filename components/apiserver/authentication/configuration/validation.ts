/** What is wrong in an AuthenticationConfiguration. Source: apiserver pkg/apis/apiserver/validation/validation.go. */
import { trimRight } from "../../../../pkg/apimachinery/go/go-text.ts"
import { X509Certificate } from "node:crypto"
import type { Cause } from "../../../../pkg/apimachinery/errors.ts"
import { domainPathFaults } from "../../../../pkg/apimachinery/validation/domain-path.ts"
import { duplicate, invalidValue, required, tooMany } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import { selectsField } from "../../../../pkg/cel/selects.ts"
import { pushAll } from "../../../../pkg/lists/push-all.ts"
import { splitPem } from "../../../../pkg/pki/verify.ts"
import { compiled, type ExpressionUse } from "./expressions.ts"
import type { AuthenticationConfiguration, JWTAuthenticator } from "./fields.ts"

const MOST_AUTHENTICATORS = 64

/** @param disallowedIssuers the issuers of this cluster's own tokens */
export function authenticationFaults(
  { jwt = [], anonymous }: AuthenticationConfiguration,
  disallowedIssuers: readonly string[],
): readonly Cause[] {
  if (jwt.length > MOST_AUTHENTICATORS) return [tooMany("jwt", jwt.length, MOST_AUTHENTICATORS)]
  const causes: Cause[] = []
  const [urls, discoveryUrls] = [new Set<string>(), new Set<string>()]
  for (const [i, one] of jwt.entries()) {
    const field = `jwt[${i}]`
    pushAll(causes, authenticatorFaults(one, field, disallowedIssuers))
    const { url, discoveryURL = "" } = one.issuer
    if (urls.has(url)) causes.push(duplicate(`${field}.issuer.url`, url))
    urls.add(url)
    if (discoveryURL === "") continue
    if (discoveryUrls.has(discoveryURL)) causes.push(duplicate(`${field}.issuer.discoveryURL`, discoveryURL))
    discoveryUrls.add(discoveryURL)
  }
  const { enabled = false, conditions = [] } = anonymous ?? {}
  if (!enabled && conditions.length > 0)
    causes.push(
      invalidValue("anonymous.conditions", conditions, "enabled should be set to true when conditions are defined"),
    )
  return causes
}

function authenticatorFaults(
  { issuer, claimValidationRules = [], claimMappings, userValidationRules = [] }: JWTAuthenticator,
  field: string,
  disallowedIssuers: readonly string[],
): readonly Cause[] {
  const claimRules = claimRuleFaults(claimValidationRules, `${field}.claimValidationRules`)
  const mappings = mappingFaults(claimMappings, `${field}.claimMappings`)
  const usesVerified = [...claimRules.expressions, ...mappings.expressions].some(usesEmailVerified)
  const { expression = "" } = claimMappings.username
  return [
    ...issuerFaults(issuer, `${field}.issuer`, disallowedIssuers),
    ...claimRules.causes,
    ...mappings.causes,
    ...(mappings.usernameCompiles && selectsField(expression, "claims", "email") && !usesVerified
      ? [
          invalidValue(
            `${field}.claimMappings.username.expression`,
            expression,
            "claims.email_verified must be used in claimMappings.username.expression or " +
              "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in " +
              "claimMappings.username.expression",
          ),
        ]
      : []),
    ...userRuleFaults(userValidationRules, `${field}.userValidationRules`),
  ]
}

const usesEmailVerified = (expression: string): boolean => selectsField(expression, "claims", "email_verified")

function issuerFaults(
  { url, discoveryURL = "", audiences = [], audienceMatchPolicy = "", ...rest }: JWTAuthenticator["issuer"],
  field: string,
  disallowedIssuers: readonly string[],
): readonly Cause[] {
  const { certificateAuthority = "", egressSelectorType = "" } = rest
  const causes: Cause[] = []
  pushAll(causes, url === "" ? [required(`${field}.url`)] : urlFaults(url, `${field}.url`, disallowedIssuers))
  if (discoveryURL !== "") {
    if (url !== "" && withoutSlashes(url) === withoutSlashes(discoveryURL))
      causes.push(invalidValue(`${field}.discoveryURL`, discoveryURL, "discoveryURL must be different from URL"))
    pushAll(causes, urlFaults(discoveryURL, `${field}.discoveryURL`, []))
  }
  pushAll(causes, audienceFaults(audiences, audienceMatchPolicy, field))
  if (certificateAuthority !== "" && !hasCertificates(certificateAuthority))
    causes.push(
      invalidValue(
        `${field}.certificateAuthority`,
        "<omitted>",
        "data does not contain any valid RSA or ECDSA certificates",
      ),
    )
  if (!["", "controlplane", "cluster"].includes(egressSelectorType))
    causes.push(
      invalidValue(
        `${field}.egressSelectorType`,
        egressSelectorType,
        "egress selector must be either controlplane or cluster",
      ),
    )
  return causes
}

const withoutSlashes = (url: string): string => trimRight(url, "/")

function hasCertificates(pem: string): boolean {
  const certificates = splitPem(pem)
  try {
    return certificates.length > 0 && certificates.every((one) => new X509Certificate(one).raw.length > 0)
  } catch {
    return false
  }
}

function urlFaults(url: string, field: string, disallowed: readonly string[]): readonly Cause[] {
  const causes: Cause[] = []
  if (disallowed.includes(url))
    causes.push(
      invalidValue(field, url, `URL must not overlap with disallowed issuers: [${disallowed.toSorted().join(" ")}]`),
    )
  const problem = goUrlProblem(url)
  if (problem !== undefined) return [...causes, invalidValue(field, url, `parse ${JSON.stringify(url)}: ${problem}`)]
  if (!url.toLowerCase().startsWith("https:")) causes.push(invalidValue(field, url, "URL scheme must be https"))
  const [, authority = "", rest = ""] = /^[^:/?#]+:\/\/([^/?#]*)(.*)$/.exec(url) ?? ["", "", url]
  if (authority.includes("@")) causes.push(invalidValue(field, url, "URL must not contain a username or password"))
  const hash = rest.indexOf("#")
  const query = /\?(.+)$/s.exec(hash < 0 ? rest : rest.slice(0, hash))?.[1] ?? ""
  if (query !== "") causes.push(invalidValue(field, url, "URL must not contain a query"))
  if (hash >= 0 && hash < rest.length - 1) causes.push(invalidValue(field, url, "URL must not contain a fragment"))
  return causes
}

/** Returns what Go's net/url says to a text that is no URL; undefined where it reads it. */
function goUrlProblem(url: string): string | undefined {
  if (/[\u0000-\u001f\u007f]/.test(url)) return "net/url: invalid control character in URL"
  if (url.startsWith(":")) return "missing protocol scheme"
  const escape = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(url)?.[0]
  if (escape !== undefined) return `invalid URL escape ${JSON.stringify(escape)}`
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1] ?? ""
  const port = /(:[^:\]]*)$/.exec(authority.slice(authority.lastIndexOf("@") + 1))?.[1]
  if (port !== undefined && !/^:\d*$/.test(port)) return `invalid port ${JSON.stringify(port)} after host`
  return undefined
}

function audienceFaults(audiences: readonly string[], policy: string, field: string): readonly Cause[] {
  const at = `${field}.audiences`
  if (audiences.length === 0) return [required(at, `at least one ${at} is required`)]
  const causes: Cause[] = []
  const seen = new Set<string>()
  for (const [i, audience] of audiences.entries()) {
    if (audience === "") causes.push(required(`${at}[${i}]`))
    if (seen.has(audience)) causes.push(duplicate(`${at}[${i}]`, audience))
    seen.add(audience)
  }
  if (audiences.length > 1 && policy !== "MatchAny")
    causes.push(
      invalidValue(
        `${field}.audienceMatchPolicy`,
        policy,
        "audienceMatchPolicy must be MatchAny for multiple audiences",
      ),
    )
  if (audiences.length === 1 && policy !== "" && policy !== "MatchAny")
    causes.push(
      invalidValue(
        `${field}.audienceMatchPolicy`,
        policy,
        "audienceMatchPolicy must be empty or MatchAny for single audience",
      ),
    )
  return causes
}

interface Found {
  readonly causes: readonly Cause[]
  /** The expressions that compile. */
  readonly expressions: readonly string[]
}

function claimRuleFaults(rules: NonNullable<JWTAuthenticator["claimValidationRules"]>, field: string): Found {
  const causes: Cause[] = []
  const [claims, expressions] = [new Set<string>(), new Set<string>()]
  const good: string[] = []
  for (const [i, { claim = "", expression = "", requiredValue = "", message = "" }] of rules.entries()) {
    const at = `${field}[${i}]`
    if (claim !== "" && expression !== "")
      causes.push(invalidValue(at, claim, "claim and expression can't both be set"))
    else if (claim === "" && expression === "") causes.push(required(at, "claim or expression is required"))
    else if (claim !== "") {
      if (message !== "") causes.push(invalidValue(`${at}.message`, message, "may not be specified when claim is set"))
      if (claims.has(claim)) causes.push(duplicate(`${at}.claim`, claim))
      claims.add(claim)
    } else {
      if (requiredValue !== "")
        causes.push(invalidValue(`${at}.requiredValue`, requiredValue, "may not be specified when expression is set"))
      if (expressions.has(expression)) causes.push(duplicate(`${at}.expression`, expression))
      else if (compiles(causes, `${at}.expression`, expression, "claims", "condition")) good.push(expression)
      expressions.add(expression)
    }
  }
  return { causes, expressions: good }
}

function mappingFaults(
  { username, groups, uid, extra = [] }: JWTAuthenticator["claimMappings"],
  field: string,
): Found & { readonly usernameCompiles: boolean } {
  const causes: Cause[] = []
  const good: string[] = []
  const usernameCompiles = prefixedFaults(causes, username, `${field}.username`, true)
  if (usernameCompiles) good.push(username.expression ?? "")
  prefixedFaults(causes, groups, `${field}.groups`, false)
  const { claim = "", expression = "" } = uid
  if (claim !== "" && expression !== "")
    causes.push(invalidValue(`${field}.uid`, "", "claim and expression can't both be set"))
  else if (expression !== "") compiles(causes, `${field}.uid.expression`, expression, "claims", "mapping")
  const keys = new Set<string>()
  for (const [i, { key = "", valueExpression = "" }] of extra.entries()) {
    const at = `${field}.extra[${i}]`
    pushAll(causes, domainPathFaults(`${at}.key`, key))
    if (key !== key.toLowerCase()) causes.push(invalidValue(`${at}.key`, key, "must be lowercase"))
    if (isOfKubernetes(key))
      causes.push(
        invalidValue(`${at}.key`, key, "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"),
      )
    if (keys.has(key)) {
      causes.push(duplicate(`${at}.key`, key))
      continue
    }
    keys.add(key)
    if (valueExpression === "") causes.push(required(`${at}.valueExpression`))
    else if (compiles(causes, `${at}.valueExpression`, valueExpression, "claims", "mapping")) good.push(valueExpression)
  }
  return { causes, expressions: good, usernameCompiles }
}

const isOfKubernetes = (key: string): boolean => /(^|\.)(k8s\.io|kubernetes\.io)$/.test(key.split("/", 1)[0] ?? "")

/** Adds the faults of a mapping. Returns whether it has an expression, and one that compiles. */
function prefixedFaults(
  causes: Cause[],
  { claim = "", prefix, expression = "" }: JWTAuthenticator["claimMappings"]["username"],
  field: string,
  isRequired: boolean,
): boolean {
  if (claim !== "" && expression !== "") causes.push(invalidValue(field, "", "claim and expression can't both be set"))
  else if (claim === "" && expression === "") {
    if (isRequired) causes.push(required(field, "claim or expression is required"))
  } else if (expression !== "") {
    if (prefix !== undefined)
      causes.push(invalidValue(`${field}.prefix`, prefix, "may not be specified when expression is set"))
    return compiles(causes, `${field}.expression`, expression, "claims", "mapping") && prefix === undefined
  } else if (prefix === undefined)
    causes.push(
      required(
        `${field}.prefix`,
        "prefix is required when claim is set. It can be set to an empty string to disable prefixing",
      ),
    )
  return false
}

function userRuleFaults(rules: NonNullable<JWTAuthenticator["userValidationRules"]>, field: string): readonly Cause[] {
  const causes: Cause[] = []
  const seen = new Set<string>()
  for (const [i, { expression = "" }] of rules.entries()) {
    const at = `${field}[${i}].expression`
    if (expression === "") causes.push(required(at))
    else if (seen.has(expression)) causes.push(duplicate(at, expression))
    else compiles(causes, at, expression, "user", "condition")
    seen.add(expression)
  }
  return causes
}

function compiles(
  causes: Cause[],
  field: string,
  expression: string,
  variable: "claims" | "user",
  use: ExpressionUse,
): boolean {
  const outcome = compiled(field, expression, variable, use)
  if ("program" in outcome) return true
  causes.push(outcome.fault)
  return false
}
