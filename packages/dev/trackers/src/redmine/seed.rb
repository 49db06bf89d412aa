# Enables the REST API and creates three accounts and a type of issues; prints their ids and API keys as JSON.
require 'json'

# Mail jobs in another thread read the database while this one writes: SQLite's busy handler blocks both threads until it
# gives up with "database is locked".
ActiveJob::Base.queue_adapter = :test

Setting.rest_api_enabled = '1'
Setting.default_language = 'en'
# Its e-mails are not tested, and the jobs that send them slow down requests.
Setting.notified_events = []

# A type of issues that cannot be created without a value of a custom field; projects do not have it by default.
type = Tracker.find_by_name('Incident') || Tracker.create!(name: 'Incident', default_status: IssueStatus.first)
type.copy_workflow_rules(Tracker.find_by_name('Bug'))
field = IssueCustomField.find_by_name('Area') || IssueCustomField.create!(
  name: 'Area', field_format: 'list', possible_values: %w[web api], is_required: true, is_for_all: true, trackers: [type]
)

def account(login, admin: false)
  user = User.find_by_login(login) || User.new(firstname: login.capitalize, lastname: 'Test', mail: "#{login}@example.org")
  user.login = login
  user.admin = admin
  user.password = user.password_confirmation = SecureRandom.hex(16)
  user.must_change_passwd = false
  user.save!(validate: false)
  { id: user.id, key: user.api_key }
end

puts "SEEDED #{JSON.generate(
  admin: account('director', admin: true),
  manager: account('syncer'),
  reporter: account('helper'),
  incident: { typeId: type.id, fieldId: field.id },
  roles: { manager: Role.find_by_name('Manager').id, reporter: Role.find_by_name('Reporter').id }
)}"
