# Switches the REST API on (REST_API=1) or off (0). Processes that are running read settings again when one was updated.
require 'json'

Setting.rest_api_enabled = ENV.fetch('REST_API')
Setting.where(name: 'rest_api_enabled').update_all(updated_on: Time.now + 1)

puts "SEEDED #{JSON.generate(nil)}"
