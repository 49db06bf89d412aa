# Enables the REST API and creates three accounts; prints their API keys as JSON.
require 'json'

# Mail jobs in another thread read the database while this one writes: SQLite's busy handler blocks both threads until it
# gives up with "database is locked".
ActiveJob::Base.queue_adapter = :test

Setting.rest_api_enabled = '1'
Setting.default_language = 'en'

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
  roles: { manager: Role.find_by_name('Manager').id, reporter: Role.find_by_name('Reporter').id }
)}"
